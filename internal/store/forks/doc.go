// Package forks begins, lists and closes forks, and tells the history of a tape with them.
package forks
