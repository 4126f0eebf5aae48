// Package workspace is the folder that holds tapes: finding, creating and opening it, its
// settings, and the handles of its tapes and forks.
package workspace
