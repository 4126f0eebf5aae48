// Package activity says what was done in a session: turns, active time, tokens, calls with their failures, and
// which files were read and written. Read finds out what one entry says, and may run for several entries at
// once. A Session adds that up in the order of the entries. It can be saved as JSON and continued.
package activity
