#ifndef MTLM_TRACE_XML_H
#define MTLM_TRACE_XML_H

#include <stdio.h>

/* Writes UTF-8 text as content of an XML element or attribute; forbidden
 * characters become "?". */
void mtlm_xml_put(FILE *f, const char *text);

#endif /* MTLM_TRACE_XML_H */
