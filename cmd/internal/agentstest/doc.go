// Package agentstest records sessions of the real coding agents, which test.sh gets from
// npm, against a scripted model, and compares the tapes with what was said.
package agentstest
