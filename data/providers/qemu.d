/* QEMU built with --enable-trace-backends=dtrace: a few of its many events, which differ between versions. */
provider qemu_system_x86_64 {
	probe qemu_mutex_lock(void *mutex, const char *file, int line);
	probe qemu_mutex_locked(void *mutex, const char *file, int line);
	probe qemu_mutex_unlock(void *mutex, const char *file, int line);
	probe kvm_ioctl(int type, void *argument);
	probe kvm_vm_ioctl(int type, void *argument);
	probe kvm_vcpu_ioctl(int cpu_index, int type, void *argument);
	probe kvm_run_exit(int cpu_index, uint32_t reason);
	probe memory_region_ops_read(int cpu_index, void *region, uint64_t address, uint64_t value, unsigned int size);
	probe memory_region_ops_write(int cpu_index, void *region, uint64_t address, uint64_t value, unsigned int size);
	probe memory_region_ops_read(int cpu_index, void *region, uint64_t address, uint64_t value, unsigned int size, const char *name);
	probe memory_region_ops_write(int cpu_index, void *region, uint64_t address, uint64_t value, unsigned int size, const char *name);
	probe bdrv_open_common(void *bs, const char *filename, int flags, const char *format_name);
	probe object_dynamic_cast_assert(const char *type, const char *target, const char *file, int line, const char *func);
};
