#include "shard/open_shard.h"

#include "culmen/error.h"
#include "index/snapshot.h"
#include "shard/shard_errors.h"

namespace culmen {

Index open_shard(const storage::Directory& directory, const ShardManifest& manifest, std::size_t shard,
                 const OpenOptions& options) {
  const std::string name = shard_name(shard, directory.path());
  Index index =
      naming(name, [&] { return Index::open(directory.path_of(manifest.directory_of(shard)), options); });
  const ShardEntry& listed = manifest.shards[shard];
  const IndexMetadata& opened = version_of(index)->metadata();
  if (opened.index_uuid != listed.uuid)
    throw FormatError(name + ": the directory holds another index than the manifest lists");
  if (opened.version < listed.version)
    throw FormatError(name + ": the directory holds version " + std::to_string(opened.version) +
                      " of the index, older than version " + std::to_string(listed.version) +
                      ", which the manifest lists");
  return index;
}

void check_same_columns(const IndexMetadata& shard, const IndexMetadata& first, const std::string& name) {
  if (shard.attributes != first.attributes || shard.fields != first.fields ||
      shard.has_labels != first.has_labels || shard.value_type != first.value_type)
    throw FormatError(name + ": its columns are not those of shard 0");
  if (shard.id_type != first.id_type)
    throw FormatError(name + ": its ids are " + std::string(id_type_name(shard.id_type)) +
                      ", those of shard 0 " + std::string(id_type_name(first.id_type)));
}

}  // namespace culmen
