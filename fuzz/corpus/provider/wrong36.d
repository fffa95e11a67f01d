provider p {
	probe a(unsigned float x);
};
