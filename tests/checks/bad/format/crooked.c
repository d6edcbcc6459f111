int  crooked ( void ) { return 1 ; }
