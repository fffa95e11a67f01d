/* SSSD 1.14 to 2.9. Probes of nested groups that have no arguments are not listed. */
provider sssd {
	probe sysdb_transaction_start(int nesting);
	probe sysdb_transaction_commit_before(int nesting);
	probe sysdb_transaction_commit_after(int nesting);
	probe sysdb_transaction_cancel(int nesting);
	probe sdap_acct_req_send(unsigned int entry_type, unsigned int filter_type, const char *filter_value, const char *extra_value);
	probe sdap_acct_req_recv(unsigned int entry_type, unsigned int filter_type, const char *filter_value, const char *extra_value);
	probe sdap_search_user_send(const char *filter);
	probe sdap_search_user_recv(const char *filter);
	probe sdap_search_user_save_begin(const char *filter);
	probe sdap_search_user_save_end(const char *filter);
	probe sdap_get_generic_ext_send(const char *base, int scope, const char *filter, const char **attrs);
	probe sdap_get_generic_ext_recv(const char *base, int scope, const char *filter);
	probe sdap_deref_search_send(const char *base_dn, const char *deref_attr);
	probe sdap_deref_search_recv(const char *base_dn, const char *deref_attr);
	probe sdap_nested_group_process_send(const char *group_dn);
	probe sdap_nested_group_process_recv(const char *group_dn);
	probe dp_req_send(const char *domain, const char *name, int target, int method);
	probe dp_req_done(const char *name, int target, int method, int ret, const char *error);
};
