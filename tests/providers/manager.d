# A manager of machines: its probes are described in comments of the shell's kind,
# which a C preprocessor would take for directives: don't preprocess this.
provider manager {
	# file: src/util/event.c
	# prefix: event
	# binary: the daemon and the shell
	probe event_add_handle(int watch, int fd, int events, void *cb, void *opaque, void *ff);
	probe event_update_timeout(int timer, int frequency);
	probe event_run();

	# file: src/rpc/socket.c
	#     if this file changes, change the examples too; it's "important" {
	probe rpc_socket_new(void *sock, int fd, int errfd, int pid, const char *localAddr, const char *remoteAddr);
	probe rpc_client_msg_rx(void *client, int len, int prog, int vers, int proc, int type, int status, int serial);
	probe monitor_send_msg(void *mon, const char *msg, int fd);
	probe monitor_io_write(void *mon, const char *buf, unsigned long long len, int ret, int err, unsigned long long at);
};
