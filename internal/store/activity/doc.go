// Package activity says what was done in a session: turns, active time, tokens, calls with their failures, and
// which files were read and written. Read returns what one entry says, and may run for several entries at
// once. A Session adds up the results in the order of the entries. It can be saved as JSON, loaded and continued.
package activity
