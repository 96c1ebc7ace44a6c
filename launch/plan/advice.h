#ifndef MTLM_ADVICE_H
#define MTLM_ADVICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Returns complete commands that would fit, for a job that does not fit.  One
 * keeps moments on a disk, or in host memory beside GPUs, where that is enough
 * on the ranks launched.  One runs the same model on more machines like this
 * one.  One runs a model with fewer layers on as many ranks as launched, unless
 * a checkpoint has the layers.  All are planned.  wish, hosts: of the job,
 * which may have more ranks than launched.  launched: without ranks that leave.
 * The lines lack the last newline; the caller frees the text. */
char *mtlm_advice(const struct mtlm_options *options,
                  const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                  int launched);

#endif /* MTLM_ADVICE_H */
