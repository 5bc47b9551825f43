"""The services that Interlock can stand on, one package each."""
