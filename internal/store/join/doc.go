// Package join makes one of two sides: a fork and its parent, a tape here and at a remote, what
// git has merged or has stopped at. All of them go by one plan, see onto.
package join
