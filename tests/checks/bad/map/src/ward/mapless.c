int weir_sample_mapless;
