/* libguestfs 1.22 and later. */
provider guestfs {
	probe launch_start();
	probe launch_end();
	probe launch_run_qemu();
	probe launch_build_appliance_start();
	probe launch_build_appliance_end();
	probe launch_libvirt_start();
	probe launch_libvirt_end();
	probe launch_build_libvirt_appliance_start();
	probe launch_build_libvirt_appliance_end();
	probe launch_build_libvirt_qcow2_overlay_end();
};
