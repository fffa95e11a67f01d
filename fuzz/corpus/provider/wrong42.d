provider p {
	probe a(uint8_t int x);
};
