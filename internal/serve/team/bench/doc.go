// Package bench compares the team's server with the searches that PostgreSQL itself offers for the same rows.
// make bench-team runs it.
package bench
