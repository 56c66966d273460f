/** What creates the first sync, as in docs/guide.md and docs/examples/clustersync.yaml. */
export const firstCommands = [
  'kubectl create secret generic old-mongodb --from-file=uri=old.txt',
  'kubectl create secret generic new-mongodb --from-file=uri=new.txt',
  'kubectl apply --filename docs/examples/clustersync.yaml',
] as const;
