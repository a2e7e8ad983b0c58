"""`python -m diskarm`."""

import sys

from ._command import main

sys.exit(main())
