int weir_sample_named;
