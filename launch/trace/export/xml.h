#ifndef MTLM_TRACE_XML_H
#define MTLM_TRACE_XML_H

#include <stdio.h>

/* Writes text (UTF-8) as the content of an XML element or attribute; what no
 * XML document may contain becomes "?". */
void mtlm_xml_put(FILE *f, const char *text);

#endif /* MTLM_TRACE_XML_H */
