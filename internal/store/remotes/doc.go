// Package remotes shares tapes with other repositories: fetch, push, clone, and what a remote has.
package remotes
