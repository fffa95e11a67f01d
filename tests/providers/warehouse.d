/* Copyright: nobody's.

   A database of the MySQL kind: every argument is named and aligned on lines of its own. */

provider warehouse {

/* Connections */
  probe connection__start(unsigned long conn_id,
                          char *user,
                          char *host);
  probe connection__done(int status, unsigned long conn_id);

/* Commands and their dispatch */
  probe command__start(unsigned long conn_id, int command,
                       char *user,
                       char *host);
  probe query__start(char *query,
                     unsigned long conn_id,
                     char *database,
                     char *user,
                     char *host);
  probe query__cache__hit(char *query, unsigned long rows);
  probe net__read__start();
  probe net__read__done(int status, unsigned long bytes);
  probe multi__update__done(int status,
                            unsigned long long rowsmatches,
                            unsigned long long rowschanged);
  probe keycache__write__block(unsigned long bytes);
  probe filesort__done(int status, unsigned long rows);
}; /* the end */
