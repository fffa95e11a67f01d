module StaticTracing
  module Tracer
    module Helpers
      module_function

      # The name of a provider for a class: Shop::HTTPServer is shop_http_server.
      def underscore(class_name)
        class_name.gsub("::", "_").gsub(/(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z\d])(?=[A-Z])/, "_")
                  .tr("-", "_").downcase
      end
    end
  end
end
