"""What each command of the command line does, one file each; ``cli.py`` holds their options."""
