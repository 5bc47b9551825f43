"""Tools to test programs that use Interlock, and Interlock itself."""
