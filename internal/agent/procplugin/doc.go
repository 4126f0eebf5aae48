// Package procplugin runs plugins that are processes of any language. Each speaks JSON-RPC 2.0
// with the host, one object a line on standard input and output; docs/plugins.md has the
// protocol. To the runtime such a process is a [hooks.Plugin] with the functions of the hooks
// that it lists when it starts.
//
// A process that ends by itself, or no longer answers, is started again after a pause. If that
// happens too often it is off: then its hooks answer none.
package procplugin
