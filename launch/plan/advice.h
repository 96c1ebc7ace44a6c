#ifndef MTLM_ADVICE_H
#define MTLM_ADVICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Complete commands that would fit where a job does not: the same model on
 * more machines like this one, and a model with fewer layers on as many ranks
 * as launched.  Both are planned.  Returns lines without the last newline; the
 * caller frees them.  wish, hosts: of the job that does not fit. */
char *mtlm_advice(const struct mtlm_options *options,
                  const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                  int launched);

#endif /* MTLM_ADVICE_H */
