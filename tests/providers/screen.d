/* A display server: D's string, types of other systems, pointers to const by typedef. */
typedef const uint8_t *const_uint8_p;
typedef const double *const_double_p;

provider screen {
	/* reqType, data, length, client id, request buffer */
	probe request__start(string, uint8_t, uint16_t, int, void *);
	/* reqType, data, sequence, client id, result */
	probe request__done(string, uint8_t, uint32_t, int, int);
	/* client id, client fd */
	probe client__connect(int, int);
	/* id, address, process, zone: a type that this system does not have */
	probe client__auth(int, string, pid_t, zoneid_t);
	probe resource__alloc(uint32_t, uint32_t, void *, string);
	/* client id, event type, event* */
	probe send__event(int, uint8_t, void *);
	/* deviceid, type, button, flags, nvalues, mask, values */
	probe input__event(int, int, uint32_t, uint32_t, int8_t, const_uint8_p, const_double_p);
};

#pragma D attributes Unstable/Unstable/Common provider screen provider
#pragma D attributes Private/Private/Unknown  provider screen module
