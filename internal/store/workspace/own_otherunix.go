//go:build unix && !linux && !darwin

package workspace

// identity is the number of a folder, and when it was made; 0 where that is not known.
func identity(dir string) (number uint64, born int64, err error) { return plainIdentity(dir) }
