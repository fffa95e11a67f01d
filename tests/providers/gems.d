/* A language whose probes depend on how it is built: wants -C. */
#include "gems_options.h"

provider gems {
  /*
     gems:::method-entry(classname, methodname, filename, lineno);

     This probe is fired just before a method is entered; the text has 'quotes' and a */
  probe method__entry(const char *classname, const char *methodname, const char *filename, int lineno);
  probe method__return(const char *classname, const char *methodname, const char *filename, int lineno);
  probe array__create(long length, const char *filename, int lineno);
  probe gc__mark__begin();
  probe gc__mark__end();
#if COLLECT_DETAILS
  probe insn(const char *name);
  probe insn__operand(gem_value value, const char *name);
#else
  probe insn(int number);
#endif
};

#pragma D attributes Stable/Evolving/Common provider gems provider
#pragma D attributes Private/Private/Common provider gems module
