#ifndef MTLM_STREAMS_H
#define MTLM_STREAMS_H

/* A core that reads long tensors in one place waits for memory most of the
 * time: it reads in so many places by turns. */
enum { MTLM_STREAMS = 8 };

#endif /* MTLM_STREAMS_H */
