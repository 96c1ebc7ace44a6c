#ifndef MTLM_PRESETS_H
#define MTLM_PRESETS_H

/* A preset: option values behind --model NAME.  Every other source of options
 * overrides them. */
struct mtlm_preset {
    const char *name;
    const char *description;
    const char *values; /* "num-layers=4 hidden-size=256 ..." */
};

/* All presets, ended by one whose name is NULL. */
extern const struct mtlm_preset mtlm_presets[];

/* Returns the preset of that name; NULL: there is none. */
const struct mtlm_preset *mtlm_preset_find(const char *name);

#endif /* MTLM_PRESETS_H */
