/*
 * A virtual machine: three providers in one file, addresses as integers, upper case in names.
 */
provider coffee {
  probe class__loaded(char*, uintptr_t, void*, uintptr_t);
  probe class__unloaded(char*, uintptr_t, void*, uintptr_t);
  probe class__initialization__required(char*, uintptr_t, void*, intptr_t);
  probe gc__begin(uintptr_t);
  probe gc__end();
  probe mem__pool__gc__begin(char*, uintptr_t, char*, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  probe method__entry(uintptr_t, char*, uintptr_t, char*, uintptr_t, char*, uintptr_t);
  probe monitor__wait(uintptr_t, uintptr_t, char*, uintptr_t, uintptr_t);
  probe thread__start(char*, uintptr_t, uintptr_t, uintptr_t, char);
  probe vm__init__begin();
};
provider coffee_private {
  probe safepoint__begin();
  probe hashtable__new_entry(void*, uintptr_t, void*);
};
provider coffee_native {
  probe GetEnv__entry(void*, void*, unsigned int);
  probe GetEnv__return(unsigned int);
  probe CallLongMethodA__entry(void*, void*, uintptr_t);
  probe CallLongMethodA__return(int64_t);
  probe SetDoubleField__entry(void*, void*, uintptr_t);
  probe NewFloat__entry(void*, float, double);
  probe IsSame__return(unsigned char, const char, short, unsigned short);
};

#pragma D attributes Standard/Standard/Common provider coffee provider
#pragma D attributes Private/Private/Unknown provider coffee_private module
#pragma D attributes Standard/Standard/Common provider coffee_native args
