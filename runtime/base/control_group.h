#ifndef MTLM_CONTROL_GROUP_H
#define MTLM_CONTROL_GROUP_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the least of allows(directory) over this process's control group and
 * all groups around it; LLONG_MAX: no limit.  controller: "" for version 2; for
 * version 1 a name, such as "memory".  root: where proc and sys are, "" except
 * in tests. */
long long mtlm_control_group_least(const char *root, const char *controller,
                                   long long (*allows)(const char *dir));

#ifdef __cplusplus
}
#endif

#endif /* MTLM_CONTROL_GROUP_H */
