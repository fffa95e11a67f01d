// flags: -shared -fPIC -fomit-frame-pointer
/* A library of `swap`, and all but the name and the frame of the other one. */
#ifndef SWAP
#define SWAP  swap_a
#define BYTES 64
#endif

void SWAP(void (*fn)(void));
void SWAP(void (*fn)(void))
{
	volatile char room[BYTES];

	room[0] = 1;
	fn();
	room[1] = 2;
}
