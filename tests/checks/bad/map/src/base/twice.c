int weir_sample_twice;
