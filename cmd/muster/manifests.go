package main

import "github.com/spf13/cobra"

func manifests() *cobra.Command { return &cobra.Command{Use: "manifests", Hidden: true} }
