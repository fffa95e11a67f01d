provider p {
	probe a("text");
};
