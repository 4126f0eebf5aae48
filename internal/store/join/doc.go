// Package join combines two sides: a fork and its parent, a tape here and at a remote, a merge that
// git made or stopped. All of them use one procedure, see onto.
package join
