// Package forks begins, lists and closes forks, and lists the commits of a tape and its
// forks.
package forks
