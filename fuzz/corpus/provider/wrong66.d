provider p {
	probe start();
	probe start__enabled();
};
