provider p {
	probe (int);
};
