// Package workspace finds, creates and opens the folders that hold tapes. It has their settings and the
// handles of tapes and forks.
package workspace
