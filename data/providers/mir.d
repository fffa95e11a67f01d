/* The Mir display server. */
provider mir_server_input {
	probe opened_input_device(const char *device, const char *platform);
	probe failed_to_open_input_device(const char *device, const char *platform);
	probe received_event_from_kernel(long long when, int type, int code, int value);
	probe published_key_event(int dest_fd, unsigned int seq_id, long long event_time);
	probe published_motion_event(int dest_fd, unsigned int seq_id, long long event_time);
};

provider mir_server_compositor {
	probe started();
	probe stopped();
	probe scheduled();
	probe added_display(int width, int height, int x, int y, void *id);
	probe began_frame(void *id);
	probe rendered_frame(void *id);
	probe finished_frame(void *id);
};

provider mir_server_shared_library_prober {
	probe probing_path(const char *path);
	probe probing_failed(const char *path, const char *error);
	probe loading_library(const char *filename);
	probe loading_failed(const char *filename, const char *error);
};
