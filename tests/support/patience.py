"""How long tests wait for something that happens in any case, before they fail."""

PATIENCE = 120  # seconds; a machine that runs other programs may give a test a tenth of its time
