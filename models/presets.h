#ifndef MTLM_PRESETS_H
#define MTLM_PRESETS_H

/* A preset: the values of options that --model NAME stands for.  Every other
 * source of options overrides them. */
struct mtlm_preset {
    const char *name;
    const char *description;
    const char *values; /* "num-layers=4 hidden-size=256 ..." */
};

/* The presets, ended by one without a name. */
extern const struct mtlm_preset mtlm_presets[];

/* The preset of that name, or NULL. */
const struct mtlm_preset *mtlm_preset_find(const char *name);

#endif /* MTLM_PRESETS_H */
