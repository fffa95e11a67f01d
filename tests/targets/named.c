// flags: -shared -fPIC
/* A library with functions to be named by their addresses: an exported one and a local one. */
int named_exported(int n);
void *named_local_address(void);

__attribute__((noinline)) static int named_local(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int named_exported(int n)
{
	return named_local(n) + named_local(n + 1);
}

void *named_local_address(void)
{
	return (void *)named_local;
}
