int weir_sample_forgotten;
