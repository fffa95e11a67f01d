provider p {
	probe a(int x = 3);
};
