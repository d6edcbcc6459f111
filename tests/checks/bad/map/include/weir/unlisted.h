extern int weir_sample_public;
