package spool

import "io/fs"

// private is always true: on Windows, a user's temporary folder is private.
func private(fs.FileInfo) bool { return true }
