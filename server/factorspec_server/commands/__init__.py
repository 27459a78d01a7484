"""What each command of the command line does, one file each; ``app.py`` holds their options."""
